import { type Factor, type FactorName, factorWords, listFactors } from '../efficiency/factor.ts'
import type { Efficiency } from '../efficiency/run-efficiency.ts'
import { knownQuantity, type QuantityFacts } from './run-facts.ts'

/** The beginning of the names of the quantities. */
const PREFIX = 'ridealong.efficiency'
/** The thing that the efficiency is about. */
const OF = { mpi: 'MPI job', processors: 'processors' } as const satisfies Record<
  Efficiency['basis'],
  string
>

/**
 * Returns the efficiency of a run and its factors, as parts from 0 to 1. Those of an MPI job and
 * those of processors have other definitions, so they are not the same quantities.
 */
export function measureEfficiency({
  basis,
  metric,
  root,
}: Pick<Efficiency, 'basis' | 'metric' | 'root'>): readonly QuantityFacts[] {
  const place = { of: OF[basis], metrics: metric === null ? [] : [metric] }
  return listFactors(root).map((one) => factorFacts(one, place))
}

function factorFacts(
  { name, value, missing }: Factor,
  place: Pick<QuantityFacts, 'of' | 'metrics'>,
): QuantityFacts {
  const facts = {
    ...place,
    quantity: quantityName(name),
    title: factorWords(name),
    unit: 'ratio',
  } as const
  const known = knownQuantity(facts, value ?? 0)
  return value === null ? { ...known, value, missing } : known
}

function quantityName(name: FactorName): string {
  return name === 'efficiency' ? PREFIX : `${PREFIX}.${name.replaceAll('-', '_')}`
}
