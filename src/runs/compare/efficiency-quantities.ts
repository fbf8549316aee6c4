import { type Factor, type FactorName, factorWords, listFactors } from '../efficiency/factor.ts'
import type { Efficiency } from '../efficiency/run-efficiency.ts'
import { MPI_TRACE } from '../metrics/mpi-trace/metric.ts'
import { knownQuantity, type QuantityFacts } from './run-facts.ts'

/** The beginning of the names of the quantities. */
const PREFIX = 'ridealong.efficiency'
/** The thing that the efficiency is about, and the metric that a run needs for it. */
const OF = {
  mpi: { of: 'MPI job', metrics: [MPI_TRACE.name] },
  processors: { of: 'processors', metrics: [] },
} as const satisfies Record<Efficiency['basis'], Pick<QuantityFacts, 'of' | 'metrics'>>

/**
 * Returns the efficiency of a run and its factors, as parts from 0 to 1. Those of an MPI job and
 * those of processors have other definitions, so they are not the same quantities.
 */
export function measureEfficiency({
  basis,
  root,
}: Pick<Efficiency, 'basis' | 'root'>): readonly QuantityFacts[] {
  return listFactors(root).map((one) => factorFacts(one, OF[basis]))
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
