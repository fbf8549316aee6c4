import { queryPath, type Sample, samplesIn } from '../../observers/live-export/query.ts'
import type { Api } from '../api.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { tools } from '../machine/tools.ts'
import { startInCluster } from './in-cluster.ts'

const NAME = 'prometheus'
const PORT = 9090

/** A Prometheus in the cluster that receives OTLP. */
export interface Prometheus {
  /** The endpoint for the settings of the live export: a Service. */
  readonly endpoint: string
  /** Evaluates an expression now. @throws if Prometheus refuses the expression */
  query(expression: string): Promise<readonly Sample[]>
}

/** Runs Prometheus in a namespace that `createProgramNamespace` created, behind a Service. */
export async function startPrometheus(
  cluster: Cluster,
  api: Api,
  namespace: string,
  configuration: string,
): Promise<Prometheus> {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME },
    spec: { selector: { program: NAME }, ports: [{ port: PORT }] },
  }
  await kubectl(cluster, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(service))
  await startInCluster(cluster, namespace, {
    name: NAME,
    folder: await tools('prometheus', () => {}),
    words: [
      '--config.file=/etc/prometheus/prometheus.yml',
      '--storage.tsdb.path=/tmp/prometheus',
      `--web.listen-address=:${PORT}`,
      '--web.enable-otlp-receiver',
    ],
    files: { 'prometheus.yml': configuration },
    readiness: { path: '/-/ready', port: PORT },
  })
  const proxy = `/api/v1/namespaces/${namespace}/pods/${NAME}:${PORT}/proxy`
  return {
    endpoint: `http://${NAME}.${namespace}:${PORT}/api/v1/otlp`,
    query: async (expression) => {
      const { body } = await api.get(`${proxy}${queryPath(expression)}`)
      return samplesIn(body, expression)
    },
  }
}
