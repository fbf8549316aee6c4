import t from 'tap'
import { findSharedTypeNames } from './type-names.ts'

const DECLARATIONS: readonly (readonly [string, string])[] = [
  ['an interface', 'export interface Place { readonly name: string }'],
  ['a type alias', 'export type Place = string'],
  ['a class', 'export class Place {}'],
  ['an abstract class', 'export abstract class Place {}'],
]

const other = { path: 'src/a.ts', text: '/** A place. */\nexport interface Place {}\n' }

for (const [what, text] of DECLARATIONS) {
  t.test(`${what} with the name of another exported type is a problem`, async (t) => {
    t.strictSame(findSharedTypeNames([other, { path: 'src/b.ts', text: `\n\n${text}\n` }]), [
      {
        path: 'src/b.ts',
        line: 3,
        message: 'src/a.ts:2 also exports a type Place; rename one of them',
      },
    ])
  })
}

const ALLOWED: readonly (readonly [string, string])[] = [
  ['a type Place that is not exported', 'interface Place {}'],
  ['a re-export of the type Place', "export type { Place } from '../a.ts'"],
  ['a re-export of all types of a module', "export type * from '../a.ts'"],
  ['a function Place', 'export function Place() {}'],
  ['a constant Place', 'export const Place = 1'],
  ['a type PlaceOf', 'export interface PlaceOf {}'],
  ['a text with a declaration', "export const text = 'export interface Place {}'"],
]

for (const [what, text] of ALLOWED) {
  t.test(`${what} is accepted beside the exported type Place`, async (t) => {
    t.strictSame(findSharedTypeNames([other, { path: 'src/b.ts', text }]), [])
  })
}

t.test('two declarations in one file, which TypeScript merges, are accepted', async (t) => {
  const text = 'export interface Place {}\nexport interface Place {}'
  t.strictSame(findSharedTypeNames([{ path: 'src/a.ts', text }]), [])
})
