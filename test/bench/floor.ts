/**
 * The smallest possible webhook in Node, for comparison. It parses the body and sends a constant
 * answer.
 */
import { serveBare } from './bare-server.ts'

serveBare((constant) => (body) => {
  JSON.parse(body)
  return constant
})
