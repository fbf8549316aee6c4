import t from 'tap'
import { readSelector } from '../../../../src/pods/recording/label-selector.ts'

const SELECTORS: readonly (readonly [string, unknown])[] = [
  ['app=web', [{ key: 'app', operator: 'In', values: ['web'] }]],
  ['app==web', [{ key: 'app', operator: 'In', values: ['web'] }]],
  ['app!=web', [{ key: 'app', operator: 'NotIn', values: ['web'] }]],
  ['app=', [{ key: 'app', operator: 'In', values: [''] }]],
  ['app', [{ key: 'app', operator: 'Exists' }]],
  ['!example.org/app', [{ key: 'example.org/app', operator: 'DoesNotExist' }]],
  ['run in (a, b)', [{ key: 'run', operator: 'In', values: ['a', 'b'] }]],
  ['run notin (a)', [{ key: 'run', operator: 'NotIn', values: ['a'] }]],
  [
    'a=1, run in (a,b) ,!c',
    [
      { key: 'a', operator: 'In', values: ['1'] },
      { key: 'run', operator: 'In', values: ['a', 'b'] },
      { key: 'c', operator: 'DoesNotExist' },
    ],
  ],
  ['', { problem: '' }],
  ['a=1,', { problem: '' }],
  ['a>1', { problem: 'a>1' }],
  ['a=b=c', { problem: 'a=b=c' }],
  ['a in b', { problem: 'a in b' }],
  ['a in (b', { problem: 'a in (b' }],
]

for (const [text, requirements] of SELECTORS) {
  const result = Array.isArray(requirements) ? 'is read as by kubectl' : 'is refused'
  t.test(`the selector "${text}" ${result}`, async (t) => {
    t.strictSame(readSelector(text), requirements)
  })
}
