const PATIENCE_MS = 60_000

/** Waits until something holds, or gives up with a sentence. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
