"""policy.onnx to the program of policy.bpw: the same operations from a closed table, for the native core."""
