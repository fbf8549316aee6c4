"""Readings of NVML, in the units of the rows of gpu-nvidia."""

import ctypes
import threading
import time


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class Nvml:
    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.call("nvmlInit_v2")

    def call(self, name, *words):
        error = getattr(self.library, name)(*words)
        if error != 0:
            raise RuntimeError(f"{name}: error {error}")

    def count(self):
        number = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(number))
        return number.value

    def handle(self, index):
        handle = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle))
        return handle

    def uuid(self, handle):
        text = ctypes.create_string_buffer(96)
        self.call("nvmlDeviceGetUUID", handle, text, 96)
        return text.value.decode()

    def number(self, name, handle, *words, kind=ctypes.c_uint):
        value = kind()
        self.call(name, handle, *words, ctypes.byref(value))
        return value.value

    def read(self, handle):
        memory, use = Memory(), Utilization()
        self.call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        self.call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(use))
        energy = "nvmlDeviceGetTotalEnergyConsumption"
        return {
            "gpu_busy": use.gpu,
            "memory_used": memory.used,
            "memory_total": memory.total,
            "power": self.number("nvmlDeviceGetPowerUsage", handle) / 1000,
            "energy": self.number(energy, handle, kind=ctypes.c_ulonglong) / 1000,
            "temperature": self.number("nvmlDeviceGetTemperature", handle, 0),
            "clock": self.number("nvmlDeviceGetClockInfo", handle, 1),
        }


class Sampling(threading.Thread):
    """Reads all GPUs ten times a second until it is stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.nvml = Nvml()
        self.readings = {}
        self.is_stopped = False

    def run(self):
        handles = [self.nvml.handle(index) for index in range(self.nvml.count())]
        known = [(handle, self.nvml.uuid(handle)) for handle in handles]
        while not self.is_stopped:
            for handle, uuid in known:
                reading = (time.time(), self.nvml.read(handle))
                self.readings.setdefault(uuid, []).append(reading)
            time.sleep(0.1)

    def stop(self):
        self.is_stopped = True
        self.join()
        return self.readings
