import { compiler, type MarkdownToJSX } from 'markdown-to-jsx/react'
import {
  createElement,
  Fragment,
  isValidElement,
  memo,
  type ReactNode,
  useDeferredValue,
  useMemo,
} from 'react'
import { useWords } from '../../i18n/language.ts'
import { CodeBlock } from '../../kit/code-block.tsx'
import { playgroundWords } from './messages.ts'

/** A longer answer stays plain text: it is read again whenever a part of it arrives. */
const formattedLengthMax = 50_000

/**
 * An answer of a model, with its Markdown. It is the text of a stranger: only the elements listed here are made, without
 * any attribute of the text, and nothing of another site is loaded. HTML stays text.
 */
export const AnswerText = memo(function AnswerText({
  text,
  isRunning,
}: {
  readonly text: string
  readonly isRunning: boolean
}) {
  const shown = useDeferredValue(text)
  const formatted = useMemo(() => format(shown, isRunning), [shown, isRunning])
  return formatted === undefined ? (
    <p className="break-words whitespace-pre-wrap">{shown}</p>
  ) : (
    <div className="grid min-w-0 gap-3 overflow-x-clip break-words">{formatted}</div>
  )
})

/** `undefined`: too long, or nested too deeply for the parser. */
function format(text: string, isRunning: boolean): ReactNode {
  if (text.length > formattedLengthMax) return undefined
  try {
    return compiler(text, isRunning ? unfinished : finished)
  } catch {
    return undefined
  }
}

const finished: MarkdownToJSX.Options = {
  createElement: makeAllowed as typeof createElement,
  disableParsingRawHTML: true,
  forceBlock: true,
  wrapper: Fragment,
}
const unfinished: MarkdownToJSX.Options = { ...finished, optimizeForStreaming: true }

/** Elements without attributes, and how they look. */
const plain: Readonly<Record<string, string>> = {
  p: 'whitespace-pre-wrap',
  strong: 'font-semibold',
  em: 'italic',
  del: 'line-through',
  ul: 'list-disc ps-6',
  ol: 'list-decimal ps-6',
  li: 'my-0.5',
  blockquote: 'grid gap-3 border-s-4 border-line ps-4 text-muted',
  hr: 'border-line',
  br: '',
  thead: '',
  tbody: '',
  tr: 'border-b border-line',
  th: 'px-2 py-1 text-start font-semibold',
  td: 'px-2 py-1',
}

type Given = Readonly<Record<string, unknown>> & { readonly key?: string | number | null }

/** A `createElement` that makes only what is listed here. */
function makeAllowed(type: unknown, given: Given | null, ...children: readonly ReactNode[]): ReactNode {
  const { key } = given ?? {}
  const keyed = key === undefined ? {} : { key }
  const text = (name: string) => (typeof given?.[name] === 'string' ? given[name] : '')
  const name = typeof type === 'string' ? type : ''
  const look = plain[name]
  if (look !== undefined) {
    const start = name === 'ol' && Number.isSafeInteger(given?.start) ? { start: Number(given?.start) } : {}
    return createElement(name, { ...keyed, ...start, className: look }, ...children)
  }
  if (/^h[1-6]$/.test(name)) return createElement('h4', { ...keyed, className: 'text-base' }, ...children)
  if (name === 'a') return createElement(OutsideLink, { ...keyed, href: text('href') }, ...children)
  if (name === 'img')
    return createElement(OutsideLink, { ...keyed, href: text('src') }, text('alt') || text('src'))
  if (name === 'code') return createElement(Code, { ...keyed, language: text('className') }, ...children)
  if (name === 'pre') return createElement(Listing, keyed, ...children)
  if (name === 'table') return createElement(WideTable, keyed, ...children)
  if (name === 'input') return given?.checked === true ? '☑ ' : '☐ '
  return createElement(Fragment, keyed, ...children)
}

/** Only to the web, in a new tab. Anything else stays text. */
function OutsideLink({ href, children }: { readonly href: string; readonly children?: ReactNode }) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return children
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="font-medium text-accent underline decoration-1 underline-offset-3 hover:text-accent-strong"
    >
      {children}
    </a>
  )
}

/** Code within a sentence; `language` is the class that the parser gives to a listing. */
function Code({ children }: { readonly language: string; readonly children?: ReactNode }) {
  return <code className="rounded-sm bg-sunken px-1 font-mono text-sm">{children}</code>
}

/** Several lines of code, to be copied. */
function Listing({ children }: { readonly children?: ReactNode }) {
  const words = useWords(playgroundWords)
  const language = isValidElement<{ language?: string }>(children) ? (children.props.language ?? '') : ''
  const [, name = words.listing] = /\blang-([\w+#.-]{1,30})/.exec(language) ?? []
  return <CodeBlock code={textOf(children)} label={name} />
}

function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join('')
  if (isValidElement<{ children?: ReactNode }>(node)) return textOf(node.props.children)
  return typeof node === 'string' || typeof node === 'number' ? String(node) : ''
}

/** Scrolls if it is wider than the page. */
function WideTable({ children }: { readonly children?: ReactNode }) {
  const words = useWords(playgroundWords)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <section aria-label={words.table} tabIndex={0} className="max-w-full overflow-x-auto">
      <table className="text-sm">{children}</table>
    </section>
  )
}
