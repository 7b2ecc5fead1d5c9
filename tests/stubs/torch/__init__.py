"""A stand-in for torch, so that a whole pilot takes a second: tests put this folder on PYTHONPATH.

It computes nothing. STUB_CARDS="NVIDIA H200,NVIDIA H200" makes it a CUDA build that sees those cards;
STUB_RESULT=wrong|nan|zero spoils what the first card computes. The real torch is tried in tests/launch.
"""

import ctypes
import os
import types

_cards = [name for name in os.environ.get("STUB_CARDS", "").split(",") if name]
_spoilt = os.environ.get("STUB_RESULT", "")

__version__ = "2.99.0+stub"
version = types.SimpleNamespace(cuda="13.0" if _cards else None, hip=None, git_version="0" * 40)
float32, float64, int64, uint8 = "float32", "float64", "int64", "uint8"
MEMORY = 141 * 10**9


class Generator:
    def __init__(self, device="cpu"):
        self.device = device

    def manual_seed(self, seed):
        return self


class Tensor:
    """One number stands for all elements; `device` is where it would lie."""

    dtype = float32
    shape = (1, 1)

    def __init__(self, value=1.0, device="cpu"):
        self.value, self.device = value, device
        self._kept = ctypes.c_double(value)

    def to(self, place):
        """A device, or a dtype, of which there is one."""
        return Tensor(self.value, self.device if place in (float32, float64) else str(place))

    def itself(self, *more):
        return self

    double = max = all = sum = contiguous = clone = view = numpy = itself
    __getitem__ = __mul__ = __mod__ = itself

    def abs(self):
        return Tensor(abs(self.value), self.device)

    def copy_(self, other):
        self.value = other.value
        return self

    def index_add(self, dim, index, rows):
        return rows

    def data_ptr(self):
        return ctypes.addressof(self._kept)

    def numel(self):
        return 1

    def element_size(self):
        return 8

    def __sub__(self, other):
        return Tensor(self.value - other.value, self.device)

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __bool__(self):
        return bool(self.value)


def randn(*shape, **options):
    return Tensor()


randint = zeros = arange = randn


def ones(count=1, dtype=None, device="cpu"):
    """Its one number is their sum."""
    return Tensor(float(count), device)


def _compute(tensor):
    if tensor.device != "cuda:0" or not _spoilt:
        return Tensor(tensor.value, tensor.device)
    return Tensor({"wrong": 1.5, "nan": float("nan"), "zero": 0.0}[_spoilt], tensor.device)


def matmul(left, right):
    return _compute(left)


def sum(tensor, dim=0):
    return _compute(tensor)


def equal(left, right):
    return left.value == right.value


def isfinite(tensor):
    return Tensor(1.0 if abs(tensor.value) < float("inf") else 0.0)


functional = types.SimpleNamespace(
    conv2d=lambda image, kernel, padding: _compute(image),
    scaled_dot_product_attention=lambda query, key, value: _compute(query),
    embedding=lambda index, rows: _compute(rows),
)
nn = types.SimpleNamespace(functional=functional)


def _properties(index):
    return types.SimpleNamespace(
        name=_cards[index], total_memory=MEMORY, major=9, minor=0, uuid=f"0000000{index}-stub", gcnArchName=""
    )


cuda = types.SimpleNamespace(
    device_count=lambda: len(_cards),
    is_available=lambda: bool(_cards),
    init=lambda: None,
    synchronize=lambda device=None: None,
    get_device_properties=_properties,
    get_device_capability=lambda device=None: (9, 0),
    mem_get_info=lambda device=None: (MEMORY - (1 << 30), MEMORY),
)
backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace()
)
