"""A task on an engine: tensors in, tensors out, and the faces that other libraries expect."""
