import type { Catalog, Metric } from '../core/catalog.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../core/kubernetes/json.ts'
import { check, fault, type InstallationCheck, judged } from './check.ts'
import { type Holder, type Offer, type Release, readCatalog } from './installation.ts'

/** Checks the catalog, whether nodes have its images, and whether the guard is installed. */
export function catalogChecks(release: Release): readonly InstallationCheck[] {
  const { offer, holders, guard } = release
  const catalog = readCatalog(release)
  return [
    judged('catalog', offer, offerCheck),
    ...(catalog === undefined ? [] : imageChecks(catalog, holders)),
    judged('guard', guard, guardCheck),
  ]
}

function offerCheck(offer: Offer): InstallationCheck {
  if (offer.kind === 'none') {
    return check('catalog', 'look', 'the Deployment mounts none: the built-in metrics')
  }
  if (offer.kind === 'broken') {
    const remedy =
      'helm upgrade writes it anew; until then servers keep the last one that was whole'
    return fault('catalog', offer.problem, remedy)
  }
  const { revision, metrics } = offer.catalog
  return check('catalog', 'ok', `revision ${revision}: ${[...metrics.keys()].join(', ')}`)
}

function guardCheck(binding: Fields | undefined): InstallationCheck {
  if (binding === undefined) {
    return check('guard', 'look', 'absent: nobody counts pods that asked and got no answer')
  }
  const actions = listOrNone(fieldsOrNone(binding.spec).validationActions)
  return check('guard', 'ok', `present: ${actions.join(', ')}`)
}

function imageChecks(
  { metrics }: Catalog,
  holders: Release['holders'],
): readonly InstallationCheck[] {
  if ('problem' in holders) return [check('images', 'unknown', holders.problem)]
  if (holders.value.length === 0) {
    const sentence = 'nothing keeps them on nodes: a pod whose node cannot pull one waits for it'
    return [check('images', 'look', sentence)]
  }
  const all = [...metrics.values()]
  const images = new Set(all.map(({ container }) => container.image))
  return [...images].map((image) => imageCheck(image, all, holders.value))
}

function imageCheck(
  image: string,
  metrics: readonly Metric[],
  holders: readonly Holder[],
): InstallationCheck {
  const ours = holders.filter(({ images }) => images.includes(image))
  const names = metrics.flatMap(({ name, container }) => (container.image === image ? name : []))
  const what = `${image} (${names.join(', ')})`
  const [best] = ours.toSorted((a, b) => b.ready - a.ready)
  if (best === undefined || !ours.some(({ isHeld }) => isHeld)) {
    const remedy =
      'kubectl describe pods -l ridealong.dev/image says why no node can pull it or run it'
    return fault('image', `no node is known to hold ${what}: pods that ask for it are left`, remedy)
  }
  const sentence = `${best.ready} of ${best.nodes} nodes hold ${what}`
  return check('image', best.ready < best.nodes ? 'look' : 'ok', sentence)
}
