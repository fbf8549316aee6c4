import { readFile } from 'node:fs/promises'
import { scanBody } from '../../src/core/body-scan.ts'
import { type Review, readReview } from '../../src/core/review.ts'
import { errorMessage } from '../../src/lib/error-message.ts'
import { cannotRead, UsageError } from './errors.ts'

/**
 * Reads a recorded AdmissionReview from a file.
 *
 * @throws UsageError with the file and the problem
 */
export async function readRecording(path: string): Promise<Review> {
  return parseRecording(path, await readFile(path, 'utf8').catch(cannotRead(path)))
}

/**
 * Parses a recorded AdmissionReview.
 *
 * @param path the file that has the text, for messages
 * @throws UsageError with the file and the problem
 */
export function parseRecording(path: string, written: string): Review {
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
