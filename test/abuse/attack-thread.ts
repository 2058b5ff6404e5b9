import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { openAi, startUpstream } from '../support/upstream.ts'
import type { AttackResult, Target } from './abuse-case.ts'
import { cases } from './all-cases.ts'

/** Messages to and from the thread. */
export type Order = { readonly name: string; readonly target: Target }
export type Report =
  | { readonly providerUrl: string }
  | { readonly result: AttackResult }
  | { readonly failure: string }

// Attackers and the hostile provider have a separate event loop, so that they do not delay the measurements.
if (parentPort === null) throw new Error('this runs in a thread of run-case.ts')
const port = parentPort
const say = (report: Report) => port.postMessage(report)
// Only for this thread: attackers have separate machines, and take no processor time from the measurements.
setPriority(constants.priority.PRIORITY_LOW)
// It takes what only some providers know: whether they are sent it is what cases are about.
const provider = await startUpstream({ api: { ...openAi, faultOf: () => undefined } })
for (const { script } of cases) script?.(provider)
port.on('message', ({ name, target }: Order) => {
  const attack = cases.find((each) => each.name === name)?.attack
  if (attack === undefined) return say({ failure: `there is no case ${name}` })
  attack(target).then(
    (result) => say({ result }),
    (error: Error) => say({ failure: String(error.stack) }),
  )
})
say({ providerUrl: provider.url })
