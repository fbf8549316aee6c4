import { pathOfResource } from '../../src/cluster/discovery.ts'
import { RUN_API_VERSION, RUNS_PLURAL } from '../../src/runs/archive/run-object.ts'

/** Returns the path of the objects Run of a namespace; of all namespaces if it is undefined. */
export function pathOfRuns(namespace: string | undefined): string {
  return pathOfResource({ apiVersion: RUN_API_VERSION, namespace, plural: RUNS_PLURAL })
}
