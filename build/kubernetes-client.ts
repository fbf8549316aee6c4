import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'esbuild'

/** The folder with the modules of @kubernetes/client-node. */
const CLIENT = dirname(createRequire(import.meta.url).resolve('@kubernetes/client-node'))

/** The classes that we use, and their modules. */
const USED = [
  `export { KubeConfig } from '${join(CLIENT, 'config.js')}'`,
  `export { Exec } from '${join(CLIENT, 'exec.js')}'`,
].join('\n')

const UNUSED = `class Unused {
  constructor() {
    throw new Error('the built command does not contain this part of @kubernetes/client-node')
  }
}
`

/**
 * The modules that config.js imports only to make generated clients of the API, by the way it
 * imports them. Their exports fail when they are used.
 */
const CUT: ReadonlyMap<string, string> = new Map([
  [
    './gen/index.js',
    `${UNUSED}export { Unused as ServerConfiguration }
export const createConfiguration = () => new Unused()`,
  ],
  ['undici', `${UNUSED}export { Unused as Agent, Unused as ProxyAgent }`],
])

/**
 * Bundles only the parts of @kubernetes/client-node that read kubeconfigs, with all kinds of
 * credentials and proxies, and that run programs in containers.
 */
export const cutKubernetesClient: Plugin = {
  name: 'cut-kubernetes-client',
  setup(build) {
    const [used, cut] = ['kubernetes-client', 'cut-from-kubernetes-client']
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ path }) => {
      return { path, namespace: used }
    })
    build.onLoad({ filter: /^/, namespace: used }, () => ({ contents: USED, resolveDir: CLIENT }))
    build.onResolve({ filter: /^(undici|\.\/gen\/index\.js)$/ }, ({ path, resolveDir }) => {
      return resolveDir === CLIENT ? { path, namespace: cut } : undefined
    })
    build.onLoad({ filter: /^/, namespace: cut }, ({ path }) => ({ contents: CUT.get(path) ?? '' }))
  },
}
