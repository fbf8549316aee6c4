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
  ['a type that is not exported', 'interface Place {}'],
  ['the same type, re-exported', "export type { Place } from './a.ts'"],
  ['all types of a module, re-exported', "export type * from './a.ts'"],
  ['a function', 'export function Place() {}'],
  ['a constant', 'export const Place = 1'],
  ['a type with a similar name', 'export interface PlaceOf {}'],
  ['a text', "export const text = 'export interface Place {}'"],
]

for (const [what, text] of ALLOWED) {
  t.test(`${what} may have the name of an exported type`, async (t) => {
    t.strictSame(findSharedTypeNames([other, { path: 'src/b.ts', text }]), [])
  })
}

t.test('accepts declarations in one file, which TypeScript merges', async (t) => {
  const text = 'export interface Place {}\nexport interface Place {}'
  t.strictSame(findSharedTypeNames([{ path: 'src/a.ts', text }]), [])
})
