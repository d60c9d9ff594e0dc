"""Operators that engines may take, by the names that the IR has for them."""

LAYERS = ("conv_2d", "depthwise_conv_2d", "fully_connected")
"""Of engines beside the core."""

OPERATORS = (
    *("abs", "add", "angle", "arg_max", "auto_scale", "average_pool_2d", "average_pool_up_2d", "batch_mat_mul"),
    *("broadcast_to", "cast", "compare", "concat", "conv_2d", "copy", "cumulative_sum", "depth_to_space"),
    *("depthwise_conv_2d", "dequantize_sums", "div", "dynamic_dequantize", "dynamic_quantize", "dynamic_range"),
    *("filter_bank", "filter_bank_log", "filter_bank_root", "float_function", "fully_connected", "gain_control"),
    *("gather", "gru", "hard_swish", "if", "integer_arithmetic", "integer_batch_mat_mul", "integer_conv_2d"),
    *("integer_depthwise_conv_2d", "integer_fully_connected", "interpolate", "interpolate_stored", "interpolated"),
    *("inverse_real_fourier", "l2normalization", "leaky_relu", "log_mel", "log_softmax", "logical_and", "logical_or"),
    *("lstm", "max_pool_2d", "maximum", "mean", "microfrontend", "minimum", "mirror_pad", "mul", "negate"),
    *("overlap_add", "pad", "power", "prelu", "real_fourier", "real_function", "reduce_all", "reduce_any"),
    *("reduce_max", "reduce_min", "relu", "reshape", "resize_bilinear", "resize_nearest", "ring_depthwise_conv_2d"),
    *("ring_fully_connected", "ring_push", "ring_rows", "rnn", "rsqrt", "select", "signal_window", "slice"),
    *("softmax", "space_to_depth", "spectral_subtraction", "spectrum_energy", "sqrt", "square", "squared_difference"),
    *(
        "standardize",
        "sum",
        "svdf",
        "top_k",
        "transpose",
        "transpose_conv_2d",
        "unsigned_rescale",
        "update_slice",
        "while",
    ),
)
"""Of engines on the core: all that a network that was read from a file may have."""
