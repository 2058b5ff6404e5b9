import type { Challenge } from 'altcha-lib'
import { proofHeader } from '#cabinet/api/proof-of-work'
import { solve } from './solve-proof.ts'

/**
 * `npm run sign-up -- EMAIL PASSWORD CABINET_URL` registers like the pages do, with both consents and a proof of work.
 */
const [email, password, cabinetUrl, ...others] = process.argv.slice(2)
if (email === undefined || password === undefined || !URL.canParse(cabinetUrl ?? '') || others.length > 0) {
  process.stderr.write(
    'Usage: npm run sign-up -- EMAIL PASSWORD CABINET_URL\nCABINET_URL is where people open the cabinet, such as http://localhost:3000.\n',
  )
  process.exit(2)
}
const url = `${cabinetUrl?.replace(/\/+$/, '')}/api/v1/auth/register`

/** Registers, with the solution of a challenge if there is one. */
async function register(proof?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'accept-language': 'en',
      ...(proof === undefined ? {} : { [proofHeader]: proof }),
    },
    body: JSON.stringify({ email, password, accept_offer: true, accept_pdn: true }),
  })
}

async function solutionOf(rejected: Response): Promise<string> {
  const { challenge } = (await rejected.json()) as { readonly challenge: Challenge }
  return solve(challenge)
}

const first = await register()
const answer = first.status === 428 ? await register(await solutionOf(first)) : first
process.stdout.write(await answer.text())
if (!answer.ok) process.exitCode = 1
