import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { scanBody } from '../../src/core/body-scan.ts'
import { type Review, readReview } from '../../src/core/review.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { cannotRead, UsageError } from './errors.ts'

/**
 * Reads a recorded AdmissionReview from a file or, for `-`, from standard input.
 *
 * @throws UsageError with the file and the problem
 */
export async function readRecording(path: string): Promise<Review> {
  const reading = path === '-' ? text(process.stdin) : readFile(path, 'utf8')
  const written = await reading.catch(cannotRead(path))
  const review = readReview(parse(path, written), scanBody(written))
  if ('problem' in review)
    throw new UsageError(`${path} is not a valid AdmissionReview: ${review.problem}`)
  return review
}

function parse(path: string, written: string): unknown {
  try {
    return JSON.parse(written)
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${errorMessage(error)}`)
  }
}
