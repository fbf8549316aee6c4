/** The metrics without logs of the recorded run of LAMMPS, which uses no Python, NCCL or GPU. */
export const NOT_RECORDED = [
  ...['python-profile', 'torch-collectives', 'torch-trace', 'nccl-ras', 'gpu', 'gpu-nvidia'],
]
