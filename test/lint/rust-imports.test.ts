import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findClimbingCrates, findRustCircles } from './rust-imports.ts'

const CRATE = 'observer/crates/observer/src'

/** Returns the messages for the modules of a crate, by their paths in it. */
function messages(modules: Readonly<Record<string, string>>): readonly string[] {
  const files = Object.entries(modules).map(([path, text]) => ({ path: `${CRATE}/${path}`, text }))
  return findRustCircles(files).map(({ message }) => message)
}

t.test('modules that import in one direction have no circle', async (t) => {
  const modules = {
    'lib.rs': 'pub mod runtime;\npub mod sampling;\n',
    'runtime/log.rs': 'use linux::clock;\n',
    'sampling/mod.rs': 'pub mod process;\n',
    'sampling/process.rs': 'use crate::runtime::log::Log;\n',
  }
  t.strictSame(messages(modules), [])
})

const CIRCLES: readonly (readonly [string, string, string])[] = [
  ['a path', 'use crate::b::B;\n', 'use crate::a::A;\n'],
  ['a group', 'use crate::{c, b::{self, B}};\n', 'use crate::{\n    a::A,\n    c,\n};\n'],
  ['a group of modules', 'use crate::{b, c};\n', 'use crate::{c::C, a};\n'],
  ['super', 'use super::b;\n', 'use super::a;\n'],
  ['a path in the code', 'fn f() { crate::b::g(); }\n', 'fn g() { super::a::f(); }\n'],
]
for (const [title, a, b] of CIRCLES) {
  t.test(`a circle is found: ${title}`, async (t) => {
    const [message, ...others] = messages({ 'a.rs': a, 'b.rs': b, 'c.rs': '' })
    t.match(message, /^the imports form a circle: a\.rs → b\.rs → a\.rs; /)
    t.strictSame(others, [])
  })
}

t.test('folders have a circle even if their modules have none', async (t) => {
  const modules = {
    'runtime/log.rs': 'use crate::sampling::process::Process;\n',
    'runtime/clock.rs': '',
    'sampling/process.rs': '',
    'sampling/table.rs': 'use crate::runtime::clock;\n',
  }
  const [message] = messages(modules)
  t.match(message, /: runtime → sampling → runtime; /)
})

t.test('comments and tests import nothing', async (t) => {
  const modules = {
    'a.rs': '/// See [`crate::b`].\nuse crate::c;\n',
    'b.rs': 'use crate::a::A;\n',
    'c.rs': '#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n',
  }
  t.strictSame(messages(modules), [])
})

t.test('a module imports its own items', async (t) => {
  const modules = { 'a/mod.rs': 'use self::b::B;\n', 'a/b.rs': 'fn f() { Self::g(); }\n' }
  t.strictSame(messages(modules), [])
})

const OBSERVER = fileURLToPath(new URL('../../observer', import.meta.url))
const WORKSPACE = readFileSync(join(OBSERVER, 'Cargo.toml'), 'utf8')

t.test('a crate that depends on a higher crate is found', async (t) => {
  const manifest = (dependency: string) => ({
    path: 'observer/crates/encode/Cargo.toml',
    text: `[package]\nname = "encode"\n\n[dependencies]\n${dependency}.workspace = true\n`,
  })
  const workspace = { path: 'observer/Cargo.toml', text: WORKSPACE }
  t.strictSame(findClimbingCrates([workspace, manifest('linux')]), [])
  t.strictSame(findClimbingCrates([workspace, manifest('otlp')]), [
    {
      path: 'observer/crates/encode/Cargo.toml',
      message: 'otlp is not below this crate in the members of observer/Cargo.toml',
    },
  ])
})
