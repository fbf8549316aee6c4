import t from 'tap'
import { field, plain } from '../../../../src/core/kubernetes/environment.ts'

t.test(
  'in a variable of plain text, each $ is doubled, so that the kubelet does not expand it',
  async (t) => {
    const rows: [string, string][] = [
      ['lmp', 'lmp'],
      ['', ''],
      ['^lmp$', '^lmp$$'],
      ['$(HOME)', '$$(HOME)'],
      ['$$', '$$$$'],
      ["$&$1$`$'", "$$&$$1$$`$$'"],
    ]
    for (const [text, value] of rows) t.strictSame(plain('A', text), { name: 'A', value }, text)
  },
)

t.test('a variable of the downward API names a field of the pod', async (t) => {
  t.strictSame(field('POD_NAME', 'metadata.name'), {
    name: 'POD_NAME',
    valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
  })
})
