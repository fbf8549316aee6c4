const text = { type: 'string' }
/**
 * With the format `unsafe`, the serializer does not search for characters that JSON must escape.
 * The base64 alphabet (letters, digits, `+`, `/` and `=`) contains no such character.
 */
const base64 = { type: 'string', format: 'unsafe' }

/** The schema of a response, from which Fastify compiles a JSON serializer. */
export const ANSWER = {
  response: {
    200: {
      type: 'object',
      properties: {
        apiVersion: text,
        kind: text,
        response: {
          type: 'object',
          properties: {
            uid: text,
            allowed: { type: 'boolean' },
            patchType: text,
            patch: base64,
            warnings: { type: 'array', items: text },
            status: {
              type: 'object',
              properties: { code: { type: 'integer' }, reason: text, message: text },
            },
          },
        },
      },
    },
  },
}
