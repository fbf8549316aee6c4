import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { loadCatalog } from '../../src/catalog/load.ts'
import { BUILT_IN_ROWS } from '../src/runs/log/built-in.ts'
import { NAMES } from './program.ts'

// Tests that the catalog describes the metrics as the program declares them.

const WORKSPACE = fileURLToPath(new URL('../../observer', import.meta.url))

/** The names of columns by the names of sections. */
type Sections = Readonly<Record<string, readonly string[]>>

/** A metric as the program declares it. */
interface Declared {
  readonly name: string
  readonly options: readonly string[]
  readonly sections: Sections
  readonly summary: Sections
}

function readDeclarations(): readonly Declared[] {
  const words = ['run', '--locked', '--quiet', '--example', 'metrics']
  return JSON.parse(execFileSync('cargo', words, { cwd: WORKSPACE, encoding: 'utf8' }))
}

t.test('the catalog describes the metrics that the program declares', async (t) => {
  const declarations = readDeclarations()
  const catalog = await loadCatalog({})
  const names = declarations.map(({ name }) => name)
  t.strictSame(names.toSorted(), [...BUILT_IN_ROWS.keys()].toSorted())
  t.strictSame(names, NAMES.slice(0, names.length), 'the tests run each metric')
  for (const { name, options, sections, summary } of declarations) {
    const described = BUILT_IN_ROWS.get(name)
    t.strictSame(
      sorted(Object.fromEntries((described?.sections ?? []).map(columnsOf))),
      sorted(sections),
      `the rows of ${name}`,
    )
    // The catalog may leave out lines and columns of the summary.
    for (const section of described?.summary ?? []) {
      const [title, columns] = columnsOf(section)
      const unknown = columns.filter((column) => !summary[title]?.includes(column))
      t.strictSame(unknown, [], `the lines ${title} in the summary of ${name}`)
    }
    const inCatalog = [...(catalog.metrics.get(name)?.options.keys() ?? [])]
    const declared = options.map((option) => `${name}.ridealong.dev/${option}`)
    t.strictSame(inCatalog.toSorted(), declared.toSorted(), `the options of ${name}`)
  }
})

interface Described {
  readonly name: string
  readonly columns: readonly { readonly name: string }[]
}

function columnsOf({ name, columns }: Described): readonly [string, readonly string[]] {
  return [name, columns.map((column) => column.name)]
}

function sorted(sections: Sections): Sections {
  const entries = Object.entries(sections).map(([name, columns]) => [name, columns.toSorted()])
  return Object.fromEntries(entries.toSorted())
}
