/** The metrics without logs of the recorded run of LAMMPS, which uses neither Python nor NCCL. */
export const NOT_RECORDED = ['python-profile', 'torch-collectives', 'nccl-ras']
