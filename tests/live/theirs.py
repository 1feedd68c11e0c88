"""Softmaxes that somebody might have written: one that is right, and others."""

import ctypes
import os
import time
from typing import Any

import numpy as np


def right(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def wrong_axis(x: Any) -> Any:
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def a_bit_off(x: Any) -> Any:
    return right(x) * np.float32(1 + 2e-6)


def no_maximum(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def no_infinity(x: Any) -> Any:
    return right(np.nan_to_num(x, neginf=np.nan))


def wide(x: Any) -> Any:
    return right(x).astype(np.float64)


def flat(x: Any) -> Any:
    return np.ravel(right(x))


def in_place(x: Any) -> Any:
    x -= x.max(axis=-1, keepdims=True)
    return right(x)


def twice(x: Any) -> Any:
    return right(x), right(x)


def nothing(x: Any) -> Any:
    return None


def raising(x: Any) -> Any:
    raise KeyError("x")


def crashing(x: Any) -> Any:
    ctypes.string_at(0)


def leaving(x: Any) -> Any:
    print("not today", flush=True)
    os._exit(3)


def hanging(x: Any) -> Any:
    time.sleep(60)


def other_names(values: Any) -> Any:
    print("what is printed must not get between the answers")
    return {"y": right(values)}


class Pair:
    forward = staticmethod(right)

    @staticmethod
    def backward(d_y: Any, y: Any) -> Any:
        return y * (d_y - (d_y * y).sum(axis=-1, keepdims=True))
