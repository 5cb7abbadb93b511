"""The version of the module: that of the library it was written with."""

__version__ = "0.1.0"
