const text = { type: 'string' }
/** Letters, digits, `+`, `/` and `=`: nothing that JSON would escape. */
const base64 = { type: 'string', format: 'unsafe' }

/** The shape of an answer, from which Fastify compiles a function that writes its JSON. */
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
