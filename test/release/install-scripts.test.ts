import { readFileSync } from 'node:fs'
import t from 'tap'

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))

t.test('only the package that contains Node runs an install script', async (t) => {
  const { packages } = read('package-lock.json')
  const scripted = Object.entries<{ hasInstallScript?: boolean }>(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace('node_modules/', ''))
  t.strictSame(read('package.json').allowScripts, { esbuild: false, node: true })
  t.strictSame(scripted.sort(), ['esbuild', 'node'])
})
