"""TVM's Relax: modules that a function of a Python file builds become ONNX networks."""
