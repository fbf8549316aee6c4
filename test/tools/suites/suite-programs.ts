import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Library } from '../mpi/programs.ts'

/** A program of a suite, in one of the ways in which it is run. */
export interface SuiteProgram {
  /** Its path in the suite, with the number of processes and the arguments if a list names them. */
  readonly title: string
  /** The folder in which it is built and run. */
  readonly folder: string
  /** The command that builds it. */
  readonly build: readonly string[]
  readonly ranks: number
  /** Further options of mpirun. */
  readonly launcher: readonly string[]
  /** The program and its arguments. */
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** How to find and build the sources of a suite. */
export interface SourceOptions {
  readonly library: Library
  /** The number of processes of a program that names none. */
  readonly ranks: number
  readonly include: readonly string[]
  /** The folder in which the programs are built. */
  readonly built: string
}

/**
 * Returns a program for each source file in C below a folder. The sources of MPI Bugs Initiative
 * name the number of processes in a comment.
 */
export function findSources(folder: string, options: SourceOptions): readonly SuiteProgram[] {
  const { library, ranks, include, built } = options
  const compile = [`mpicc.${library}`, '-O1', '-w', '-pthread', ...include.map((one) => `-I${one}`)]
  return globSync('**/*.c', { cwd: folder })
    .sort()
    .map((path) => {
      const program = join(built, path.replaceAll('/', '-').replace(/\.c$/, ''))
      const build = [...compile, path, '-o', program, '-lm']
      const given = /\$ mpirun -np (\d+)/.exec(readFileSync(join(folder, path), 'utf8'))?.[1]
      const own = given === undefined ? ranks : Number(given)
      return { title: path, folder, build, ranks: own, launcher: [], words: [program], env: {} }
    })
}

/**
 * Returns the programs that a list of MPICH's test/mpi names, and those of the folders that it
 * names. `make` builds a program in its folder. The rules are those of its script `runtests`.
 */
export function readLists(suite: string, names: readonly string[], path = ''): SuiteProgram[] {
  const folder = join(suite, path)
  const lists = names.map((name) => join(folder, name)).filter((list) => statSync(list, QUIET))
  return lists.flatMap((list) =>
    parseList(readFileSync(list, 'utf8')).flatMap(({ name, ranks, options }) => {
      const inside = join(path, name)
      // A folder has all of the lists.
      if (statSync(join(suite, inside), QUIET)?.isDirectory()) {
        return list === lists[0] ? readLists(suite, names, inside) : []
      }
      const valuesOf = (key: string) => options.filter((one) => one[0] === key).map((one) => one[1])
      const [given, env] = [valuesOf('arg'), valuesOf('env')]
      return {
        title: [inside, ranks, ...env, ...given].join(' '),
        folder,
        build: ['make', name],
        ranks,
        launcher: valuesOf('mpiexecarg'),
        words: [`./${name}`, ...given],
        env: Object.fromEntries(env.map(splitPair)),
      }
    }),
  )
}

const QUIET = { throwIfNoEntry: false } as const

/** A line of a list. */
export interface ListedProgram {
  /** The name of a program, or of a folder with lists of its own. */
  readonly name: string
  readonly ranks: number
  /** The keys and values of the line, in its order. A key can be there several times. */
  readonly options: readonly (readonly [string, string])[]
}

/** Reads a list: `NAME [RANKS [KEY=VALUE ...]]` in each line, and comments that begin with `#`. */
export function parseList(text: string): readonly ListedProgram[] {
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim())
  return lines
    .filter((line) => line !== '' && !line.startsWith('!'))
    .map((line) => {
      const [name = '', ranks = '2', ...words] = line.split(/\s+/)
      const options = words.filter((word) => word.includes('=')).map(splitPair)
      return { name, ranks: Number(ranks), options }
    })
}

function splitPair(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return [text.slice(0, at), text.slice(at + 1)]
}
