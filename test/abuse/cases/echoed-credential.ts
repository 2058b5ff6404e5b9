import { goodStream, refusal, streamHeaders } from '../../support/upstream.ts'
import { echoCase } from '../support/echo-case.ts'
import { providerCredential } from '../support/hostile-answers.ts'

const said = `bad key ${providerCredential}, see Bearer ${providerCredential}`
const { role, say } = goodStream

export const echoedCredential = echoCase(
  {
    name: 'echoed-credential',
    promise:
      "The provider's own credential is in no error, however short it is and wherever the provider says it.",
  },
  {
    'abuse/echo-400': refusal(400, said, { param: providerCredential, code: providerCredential }),
    'abuse/echo-401': refusal(401, said),
    'abuse/echo-422': refusal(422, said),
    'abuse/echo-500': refusal(500, said),
    'abuse/echo-text': { status: 400, headers: { 'content-type': 'text/plain' }, steps: [{ send: said }] },
    'abuse/echo-stream': {
      headers: streamHeaders,
      steps: [role, say('Hi'), { event: { error: { message: said, code: providerCredential } } }],
    },
  },
)
