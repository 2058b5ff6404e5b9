import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { geminiKey } from './gemini.ts'

/** Credential of the manifest's provider `anthropic`. */
export const anthropicKey = 'key-in-the-manifest'

/** The models of the manifest, and the provider of each. */
export const nativeModels = [
  ['anthropic/claude-opus-5', 'anthropic'],
  ['google/gemini-2.5-flash', 'gemini'],
] as const

/** The manifest of docs/operate/native-providers.yaml for providers at these addresses of this machine. */
export function nativeManifest(urls: { readonly anthropic: string; readonly gemini: string }): string {
  const manifest = readFileSync(join(import.meta.dirname, '../../docs/operate/native-providers.yaml'), 'utf8')
  const local = '\n  network: { http: true, privateAddresses: true }'
  const places = [
    ['https://api.anthropic.com/v1', urls.anthropic + local],
    ['https://generativelanguage.googleapis.com/v1beta', urls.gemini + local],
    ['apiKey: anthropic-key', `apiKey: ${anthropicKey}`],
    ['apiKey: gemini-key', `apiKey: ${geminiKey}`],
  ] as const
  return places.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the manifest lacks ${from}`)
    return text.replace(from, to)
  }, manifest)
}
