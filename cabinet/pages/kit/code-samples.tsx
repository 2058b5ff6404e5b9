import { useWords } from '../i18n/language.ts'
import { CodeBlock } from './code-block.tsx'
import { kitWords } from './messages.ts'
import { curlOf, javaScriptOf, pythonOf, type SampleRequest } from './sample-code.ts'
import { Tabs } from './tabs.tsx'

/** The same request in each language, ready to copy; a variable name replaces the key. */
export function CodeSamples({
  baseUrl,
  request,
}: {
  readonly baseUrl: string
  readonly request: SampleRequest
}) {
  const words = useWords(kitWords)
  const samples = [
    { id: 'curl', name: 'curl', code: curlOf(baseUrl, request) },
    { id: 'javascript', name: 'Node.js', code: javaScriptOf(baseUrl, request) },
    { id: 'python', name: 'Python', code: pythonOf(baseUrl, request) },
  ]
  return (
    <Tabs
      label={words.codeLanguage}
      tabs={samples.map(({ id, name, code }) => ({
        id,
        name,
        content: <CodeBlock code={code} label={name} />,
      }))}
    />
  )
}
