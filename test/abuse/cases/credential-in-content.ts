import { goodStream, streamHeaders } from '../../support/upstream.ts'
import { echoCase } from '../support/echo-case.ts'
import { plainAnswer, providerCredential, usageOf } from '../support/hostile-answers.ts'

const said = `My key is ${providerCredential}.`
const [first, second] = [said.slice(0, 15), said.slice(15)]
const { role, say, finish, usage, done } = goodStream

export const credentialInContent = echoCase(
  {
    name: 'credential-in-content',
    promise: "The provider's own credential is in no content either, not even in pieces.",
  },
  {
    'abuse/echo-content': { steps: [{ send: plainAnswer({ content: said }, usageOf(5, 5)) }] },
    'abuse/echo-pieces': {
      headers: streamHeaders,
      steps: [role, say(first), say(second), finish(), usage(), done],
    },
  },
)
