import { readFileSync } from 'node:fs'
import t from 'tap'

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))

t.test('only the package that contains Node has an install script', async (t) => {
  const { packages } = read('package-lock.json')
  const scripted = Object.entries<{ hasInstallScript?: boolean }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace('node_modules/', ''))
  t.strictSame(scripted, ['node'])
  t.strictSame(Object.keys(read('package.json').allowScripts), scripted)
})
