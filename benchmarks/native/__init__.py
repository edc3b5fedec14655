"""The native core beside ONNX Runtime."""
