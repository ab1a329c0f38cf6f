"""The statistical method, which needs numpy, scipy and threadpoolctl."""
