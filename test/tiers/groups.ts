/** Test files that run in one process. */
export interface Group {
  readonly name: string
  /** Paths below test/. */
  readonly files: readonly string[]
}

/**
 * Folders whose tests may share a process, because they change nothing that is outside the test. A
 * process costs about 0.7 s of processor time: Node starts, tap loads, and both import the code.
 */
const SHARING = ['certs', 'docs', 'lint', 'release', 'src', 'cli']

/**
 * The maximum number of files in a group, so that all processors have work until the end, and a
 * group ends in time on a busy machine.
 */
const MAX_FILES = 12

/** Groups test files that may share a process, by folder. Other files have a group of their own. */
export function groupFiles(paths: readonly string[]): readonly Group[] {
  const folders = Map.groupBy(paths, folderOf)
  return [...folders].flatMap(([folder, files]) => {
    if (!SHARING.includes(folder.split('/')[0] ?? ''))
      return files.map((file) => ({ name: file, files: [file] }))
    const count = Math.ceil(files.length / MAX_FILES)
    return Array.from({ length: count }, (_, group) => ({
      name: `${folder}-${group + 1}`,
      files: files.filter((_, index) => index % count === group),
    }))
  })
}

/** Returns `src/runs` for `src/runs/log/parse.test.ts`, and `cli` for `cli/top/top.test.ts`. */
function folderOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return first === 'src' ? `${first}/${second}` : first
}
