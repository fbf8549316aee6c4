import { execFileSync } from 'node:child_process'
import t from 'tap'
import { DESCRIBED } from './described.ts'
import { LIBRARIES, mpiTests, programsFor } from './programs.ts'

/**
 * The functions with a buffer of MPI 4.0 in the module mpi_f08. Open MPI 4.1 does not have them,
 * and those of MPICH 4.0 have other names (mpi_isendrecv_f08ts_).
 */
const F08_OF_MPI_4_0 = [
  ...['isendrecv', 'isendrecv_replace', 'psend_init', 'precv_init', 'bcast_init', 'gather_init'],
  ...['gatherv_init', 'scatter_init', 'scatterv_init', 'allgather_init', 'allgatherv_init'],
  ...['alltoall_init', 'alltoallv_init', 'alltoallw_init', 'reduce_init', 'allreduce_init'],
  ...['reduce_scatter_init', 'reduce_scatter_block_init', 'scan_init', 'exscan_init'],
  ...['neighbor_allgather_init', 'neighbor_allgatherv_init', 'neighbor_alltoall_init'],
  ...['neighbor_alltoallv_init', 'neighbor_alltoallw_init'],
].map((name) => `mpi_${name}_f08_`)

/** Returns the functions of the MPI libraries with which a program is linked. */
function functionsIn(program: string): readonly string[] {
  const linked = execFileSync('ldd', [program], { encoding: 'utf8' })
  return [...linked.matchAll(/libmpi\S* => (\S+)/g)].flatMap(([, library = '']) => {
    const words = ['--dynamic', '--defined-only', library]
    const table = execFileSync('nm', words, { encoding: 'utf8', maxBuffer: 1 << 26 })
    return table.match(/(?<= [TWi] )mpi_\w+$/gim) ?? []
  })
}

t.test('each function that the recorder replaces exists under this name', mpiTests(), async (t) => {
  const all = LIBRARIES.map(programsFor).flatMap(({ bytes, fortran }) => [bytes, ...fortran])
  const defined = new Set(all.flatMap(functionsIn))
  const replaced = DESCRIBED.flatMap(({ name, fortran }) => {
    return [`MPI_${name}`, ...(fortran === null ? [] : [`mpi_${fortran}_`, `mpi_${fortran}_f08_`])]
  })
  t.ok(replaced.length > 500)
  t.ok(F08_OF_MPI_4_0.every((name) => replaced.includes(name)))
  const unknown = replaced.filter((name) => !defined.has(name))
  t.strictSame(
    unknown.filter((name) => !F08_OF_MPI_4_0.includes(name)),
    [],
    'no library has a function of this name',
  )
})
