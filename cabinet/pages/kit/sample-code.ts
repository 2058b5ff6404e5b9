/** The body of a request to the gateway. */
export type SampleRequest =
  | {
      readonly path: '/chat/completions'
      readonly body: {
        readonly model: string
        readonly messages: readonly { readonly role: string; readonly content: string }[]
        readonly temperature?: number
        readonly max_tokens?: number
        readonly stream?: true
        readonly stream_options?: { readonly include_usage: true }
      }
    }
  | { readonly path: '/embeddings'; readonly body: { readonly model: string; readonly input: string } }

/** The variable from which programs read their key: it is never in the code. */
export const keyVariable = 'MODEL_GATEWAY_API_KEY'

/** For a POSIX shell, between double quotes. */
const keyOfVariable = `Bearer $${keyVariable}`

/** For a POSIX shell; `authorization`: without quotes in it. Pure. */
export function curlOf(
  baseUrl: string,
  { path, body }: SampleRequest,
  authorization: string = keyOfVariable,
): string {
  const json = JSON.stringify(body, undefined, 2).replaceAll("'", `'\\''`).replaceAll('\n', '\n  ')
  return `curl ${'stream' in body ? '-N ' : ''}${baseUrl}${path} \\
  -H "Authorization: ${authorization}" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`
}

/** For Node with the package `openai`. Pure. */
export function javaScriptOf(baseUrl: string, { path, body }: SampleRequest): string {
  const call = path === '/embeddings' ? 'embeddings' : 'chat.completions'
  return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${JSON.stringify(baseUrl)},
  apiKey: process.env.${keyVariable},
})

const answer = await client.${call}.create(${JSON.stringify(body, undefined, 2)})

${javaScriptUse(path, 'stream' in body)}`
}

function javaScriptUse(path: SampleRequest['path'], isStream: boolean): string {
  if (path === '/embeddings') return 'console.log(answer.data[0].embedding)'
  if (!isStream) return 'console.log(answer.choices[0].message.content)'
  return `for await (const chunk of answer) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
}`
}

/** For Python with the package `openai`. Pure. */
export function pythonOf(baseUrl: string, { path, body }: SampleRequest): string {
  const call = path === '/embeddings' ? 'embeddings' : 'chat.completions'
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${pythonValue(value, '    ')},`)
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(baseUrl)},
    api_key=os.environ["${keyVariable}"],
)

answer = client.${call}.create(
${fields.join('\n')}
)

${pythonUse(path, 'stream' in body)}`
}

function pythonUse(path: SampleRequest['path'], isStream: boolean): string {
  if (path === '/embeddings') return 'print(answer.data[0].embedding)'
  if (!isStream) return 'print(answer.choices[0].message.content)'
  return `for chunk in answer:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
}

/** A Python literal: JSON except for three words. */
function pythonValue(value: unknown, indent: string): string {
  const deeper = `${indent}    `
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (value === null) return 'None'
  if (Array.isArray(value))
    return `[\n${value.map((one) => `${deeper}${pythonValue(one, deeper)},\n`).join('')}${indent}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one, indent)}`,
  )
  return `{${members.join(', ')}}`
}
