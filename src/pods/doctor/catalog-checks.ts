import { type Catalog, imagesOf, type Metric } from '../../core/catalog.ts'
import { type Fields, fieldsOrNone, listOrNone } from '../../core/kubernetes/json.ts'
import { check, fault, type InstallationCheck, judged } from './check.ts'
import { type Holder, type Offer, type Release, readCatalog } from './installation.ts'

/**
 * Checks the catalog, whether nodes have its images, and whether the guard is installed. The guard
 * is a policy of the chart. It warns about pods that requested observers but were created without
 * them, or with altered observers.
 */
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
    const sentence = 'the Deployment mounts no catalog, so the built-in metrics are offered'
    return check('catalog', 'look', sentence)
  }
  if (offer.kind === 'broken') {
    const remedy = 'restore it with helm upgrade; until then, servers keep the last valid catalog'
    return fault('catalog', offer.problem, remedy)
  }
  const { revision, metrics, defaultMetrics } = offer.catalog
  const names = [...metrics.keys()].join(', ')
  const defaults = defaultMetrics.length === 0 ? 'none' : defaultMetrics.join(', ')
  return check('catalog', 'ok', `revision ${revision}: ${names}; default metrics: ${defaults}`)
}

function guardCheck(binding: Fields | undefined): InstallationCheck {
  if (binding === undefined) {
    const sentence = 'not installed: there is no warning about pods that the webhook did not review'
    return check('guard', 'look', sentence)
  }
  const actions = listOrNone(fieldsOrNone(binding.spec).validationActions)
  return check('guard', 'ok', `installed, with the actions ${actions.join(', ')}`)
}

function imageChecks(
  { metrics }: Catalog,
  holders: Release['holders'],
): readonly InstallationCheck[] {
  if ('problem' in holders) return [check('images', 'unknown', holders.problem)]
  if (holders.value.length === 0) {
    const sentence =
      'no DaemonSet keeps the images on nodes:' +
      ' if a node cannot pull the image of an observer, the pod does not start'
    return [check('images', 'look', sentence)]
  }
  const all = [...metrics.values()]
  const images = new Set(all.flatMap(imagesOf))
  return [...images].map((image) => imageCheck(image, all, holders.value))
}

function imageCheck(
  image: string,
  metrics: readonly Metric[],
  holders: readonly Holder[],
): InstallationCheck {
  const ours = holders.filter(({ images }) => images.includes(image))
  const names = metrics.flatMap((metric) => (imagesOf(metric).includes(image) ? metric.name : []))
  const what = `${image} (${names.join(', ')})`
  const [best] = ours.toSorted((a, b) => b.ready - a.ready)
  if (best === undefined || !ours.some(({ isHeld }) => isHeld)) {
    const remedy =
      'find out why no node can pull or run the image:' +
      ' kubectl describe pods -A -l ridealong.dev/image'
    const sentence =
      `no node is known to have ${what};` +
      ' pods that request one of these metrics get no observers'
    return fault('image', sentence, remedy)
  }
  const sentence = `${best.ready} of ${best.nodes} nodes have ${what}`
  return check('image', best.ready < best.nodes ? 'look' : 'ok', sentence)
}
