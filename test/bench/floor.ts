/** The least that a webhook in Node can do, for comparison: it parses the body and answers a constant. */
import { serveBare } from './bare-server.ts'

serveBare((constant) => (body) => {
  JSON.parse(body)
  return constant
})
