import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VERSION = '4.6'

/** The archive with the libraries, which docs/metrics/own-tool.md names too. */
export const URL_OF_JAR = `https://repo1.maven.org/maven2/tools/profiler/async-profiler/${VERSION}/async-profiler-${VERSION}.jar`
export const SHA256 = 'a5d3d9f4582c2033fa9db518046e73ef97219801f3e7542b82e3e09261ebe493'

/**
 * Returns a folder with the libraries of async-profiler from Maven Central, or the reason why there
 * is none. The first call downloads them into the folder of temporary files; another test that does
 * the same at the same time loses its own.
 */
export async function asyncProfiler(): Promise<{ folder: string } | { reason: string }> {
  const folder = join(tmpdir(), `ridealong-async-profiler-${VERSION}`)
  if (existsSync(folder)) return { folder }
  const jar = await download()
  if (typeof jar === 'string') return { reason: jar }
  const digest = createHash('sha256').update(jar).digest('hex')
  if (digest !== SHA256) throw new Error(`${URL_OF_JAR} has the SHA-256 ${digest}, not ${SHA256}`)
  const building = mkdtempSync(`${folder}-`)
  writeFileSync(join(building, 'async-profiler.jar'), jar)
  execFileSync('jar', ['xf', 'async-profiler.jar'], { cwd: building })
  try {
    renameSync(building, folder)
  } catch (error) {
    rmSync(building, { recursive: true })
    if (!existsSync(folder)) throw error
  }
  return { folder }
}

/** Returns the archive, or the reason why it cannot be downloaded. */
async function download(): Promise<Buffer | string> {
  try {
    const response = await fetch(URL_OF_JAR, { signal: AbortSignal.timeout(60_000) })
    if (response.ok) return Buffer.from(await response.arrayBuffer())
    return `${URL_OF_JAR} cannot be downloaded: status ${response.status}`
  } catch (error) {
    return `${URL_OF_JAR} cannot be downloaded: ${(error as Error).message}`
  }
}
