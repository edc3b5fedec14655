"""The native core by ctypes: optional, compiled at first use; without it the reference guard and ONNX Runtime serve."""
