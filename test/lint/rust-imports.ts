import { dirname } from 'node:path/posix'
import { findFolderCircles } from './folder-circles.ts'
import type { Problem, SourceFile } from './problem.ts'

/** The source of a crate of the observers: its folder, and the path of a module in it. */
const MODULE = /^(observer\/crates\/[^/]+\/src)\/(.+)\.rs$/

/**
 * Finds the circles of imports in the crates of the observers. The entries of a folder, files and
 * folders, may import each other only in one direction. Then the modules of a crate have no circle
 * either. Imports of tests do not count, because the program does not contain them.
 */
export function findRustCircles(files: readonly SourceFile[]): readonly Problem[] {
  const crates = new Map<string, SourceFile[]>()
  for (const file of files) {
    const crate = MODULE.exec(file.path)?.[1]
    if (crate !== undefined) crates.set(crate, [...(crates.get(crate) ?? []), file])
  }
  return [...crates].flatMap(([crate, modules]) => findCircles(crate, modules))
}

function findCircles(crate: string, modules: readonly SourceFile[]): readonly Problem[] {
  const paths = new Set(modules.map(({ path }) => path))
  const imports = modules.flatMap(({ path, text }) =>
    importedFiles(crate, path, text, paths).map((imported) => [path, imported] as const),
  )
  return findFolderCircles(imports).map(({ entries }) => {
    const names = entries.map((entry) => entry.slice(crate.length + 1)).join(' → ')
    const message = `the imports form a circle: ${names}; modules must import in one direction only`
    return { path: entries[0] ?? crate, message }
  })
}

function importedFiles(
  crate: string,
  path: string,
  text: string,
  paths: ReadonlySet<string>,
): readonly string[] {
  const inside = (MODULE.exec(path)?.[2] ?? '').replace(/(^|\/)(mod|lib|main)$/, '')
  const own = inside === '' ? [] : inside.split('/')
  return importedPaths(text).flatMap((names) => {
    const absolute = toAbsolute(own, names)
    for (let length = absolute.length; length > 0; length -= 1) {
      const file = `${crate}/${absolute.slice(0, length).join('/')}`
      const found = [`${file}.rs`, `${file}/mod.rs`].find((one) => paths.has(one))
      if (found !== undefined) return [found]
    }
    return []
  })
}

function toAbsolute(module: readonly string[], names: readonly string[]): readonly string[] {
  const [first, ...rest] = names
  if (first === 'crate') return rest
  if (first === 'super') return toAbsolute(module.slice(0, -1), ['self', ...rest])
  if (first === 'self') return rest[0] === 'super' ? toAbsolute(module, rest) : [...module, ...rest]
  return []
}

/** Returns the paths that begin with `crate`, `self` or `super`, without comments and tests. */
function importedPaths(text: string): readonly (readonly string[])[] {
  const [code = ''] = text.replace(/\/\/.*$/gm, '').split(/^#\[cfg\(test\)\]\n(?:pub )?mod /m)
  const expanded = code.replace(/^ *(?:pub )?use [^;]*;/gm, expandGroups)
  const found = expanded.matchAll(/\b(?:crate|self|super)(?:::\w+)+/g)
  return [...found].map(([path]) => path.split('::'))
}

/** Replaces `a::{b, c::{d, e}}` by `a::b, a::c::d, a::c::e`. */
function expandGroups(statement: string): string {
  const expanded = statement.replace(/(\w+(?:::\w+)*)::\{([^{}]*)\}/g, (_, path, group) =>
    group
      .split(',')
      .filter((name: string) => name.trim() !== '')
      .map((name: string) => `${path}::${name.trim()}`)
      .join(', '),
  )
  return expanded === statement ? expanded : expandGroups(expanded)
}

/**
 * Finds the crates that depend on a crate above them. The members of the workspace are listed from
 * the lowest to the highest.
 */
export function findClimbingCrates(files: readonly SourceFile[]): readonly Problem[] {
  const manifests = files.filter(({ path }) => path.endsWith('/Cargo.toml'))
  const workspace = manifests.find(({ path }) => path === 'observer/Cargo.toml')
  const list = /^members = \[([^\]]*)\]/m.exec(workspace?.text ?? '')?.[1] ?? ''
  const members = [...list.matchAll(/"([^"]+)"/g)].map(([, member = '']) => `observer/${member}`)
  return manifests.flatMap(({ path, text }) => {
    const place = members.indexOf(dirname(path))
    if (place < 0) return []
    const [, dependencies = ''] = text.split(/^\[dependencies\]\n/m)
    const names = [...dependencies.matchAll(/^([\w-]+)(?:\.workspace)? = /gm)]
    return names.flatMap(([, name = '']) => {
      const below = members.findIndex((member) => member.endsWith(`/${name}`))
      if (below < 0 || below < place) return []
      const message = `${name} is not below this crate in the members of observer/Cargo.toml`
      return [{ path, message }]
    })
  })
}
