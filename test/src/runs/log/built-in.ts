import { loadCatalog } from '../../../../src/catalog/load.ts'
import { descriptionsIn } from '../../../../src/runs/log/descriptions.ts'

/** The descriptions of the rows of the built-in metrics. */
export const BUILT_IN_ROWS = descriptionsIn(await loadCatalog({}))
