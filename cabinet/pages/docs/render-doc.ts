import { astToHTML, type MarkdownToJSX, parser, RuleType } from 'markdown-to-jsx/html'
import { html } from '../html.ts'
import { findBrokenTable } from './doc-table.ts'

/** A Markdown text as the content of a page. */
export type RenderedDoc = {
  /** Of its only first heading. */
  readonly title: string
  /** Its first paragraph, without markup. */
  readonly description: string
  readonly markup: string
  /** In their order. */
  readonly sections: readonly DocSection[]
}

/** A heading, and the text from it to the next one. */
type DocSection = {
  readonly level: number
  readonly anchor: string
  readonly title: string
  readonly text: string
}

/** Where a link of a document leads on the site; `undefined`: to nothing that the site has, so only its text is shown. */
export type ResolveLink = (target: string) => string | undefined

type Node = MarkdownToJSX.ASTNode

/**
 * Renders the Markdown of our documents. Headings have the anchors that GitHub gives them. HTML in it stays text.
 *
 * @throws Error for a broken table, a missing first heading or paragraph, and what `resolveLink` throws
 */
export function renderDoc(markdown: string, resolveLink: ResolveLink): RenderedDoc {
  const fault = findBrokenTable(markdown)
  if (fault !== undefined) throw new Error(`line ${fault.line}: ${fault.reason}`)
  const nodes = parse(markdown)
  const titleNode = nodes.find((node) => node.type === RuleType.heading)
  const first = nodes.find((node) => node.type === RuleType.paragraph)
  if (titleNode?.type !== RuleType.heading || titleNode.level !== 1)
    throw new Error('a document begins with a heading of the first level')
  const sections = sectionsOf(nodes)
  return {
    title: textOf(titleNode.children),
    description: first === undefined ? '' : shorten(textOf([first])),
    markup: markupOf(nodes, resolveLink),
    sections,
  }
}

function parse(markdown: string): MarkdownToJSX.ASTNode[] {
  return parser(withoutComments(markdown), { slugify: anchorOf, disableParsingRawHTML: true })
}

/** Without the comments for those who edit the document. Pure. */
export function withoutComments(markdown: string): string {
  return markdown.replaceAll(/^<!--.*?-->\n+/gms, '')
}

/** As GitHub makes anchors of headings. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The anchors of a Markdown text. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const nodes = parse(markdown)
  return new Set(nodes.flatMap((node) => (node.type === RuleType.heading ? node.id : [])))
}

function markupOf(nodes: Node[], resolveLink: ResolveLink): string {
  let section = ''
  return astToHTML(nodes, {
    wrapper: null,
    renderRule(next, node, renderChildren) {
      if (node.type === RuleType.heading) {
        section = textOf(node.children)
        return headingMarkup(node, renderChildren(node.children))
      }
      // Wide tables scroll in a box that the keyboard reaches.
      if (node.type === RuleType.table)
        return `${html`<div class="scrolls" role="group" tabindex="0" aria-label="${section}">`.markup}${next()}</div>`
      if (node.type === RuleType.codeBlock) return html`<pre><code>${node.text}</code></pre>`.markup
      if (node.type === RuleType.link) return linkMarkup(node, renderChildren(node.children), resolveLink)
      return next()
    },
  })
}

function headingMarkup({ level, id }: MarkdownToJSX.HeadingNode, content: string): string {
  if (level === 1) return `<h1>${content}</h1>`
  return `<h${level} id="${id}"><a href="#${id}">${content}</a></h${level}>`
}

function linkMarkup({ target }: MarkdownToJSX.LinkNode, content: string, resolveLink: ResolveLink): string {
  const address = target === null ? undefined : resolveLink(target)
  return address === undefined ? content : `${html`<a href="${address}">`.markup}${content}</a>`
}

function sectionsOf(nodes: readonly Node[]): readonly DocSection[] {
  const sections: (Omit<DocSection, 'text'> & { texts: string[] })[] = []
  for (const node of nodes) {
    if (node.type === RuleType.heading)
      sections.push({ level: node.level, anchor: node.id, title: textOf(node.children), texts: [] })
    else sections.at(-1)?.texts.push(textOf([node]))
  }
  return sections.map(({ texts, ...section }) => ({
    ...section,
    text: texts.join(' ').replace(/\s+/g, ' ').trim(),
  }))
}

/** The text of nodes without markup. */
function textOf(nodes: readonly Node[]): string {
  return nodes.map(textOfNode).join('')
}

function textOfNode(node: Node): string {
  if (node.type === RuleType.table)
    return [node.header, ...node.cells].map((row) => row.map(textOf).join(' ')).join(' ')
  if (node.type === RuleType.orderedList || node.type === RuleType.unorderedList)
    return node.items.map(textOf).join(' ')
  if ('children' in node && Array.isArray(node.children)) return textOf(node.children)
  return 'text' in node && typeof node.text === 'string' ? node.text : ''
}

const descriptionLengthMax = 200

function shorten(text: string): string {
  const whole = text.replace(/\s+/g, ' ').trim()
  if (whole.length <= descriptionLengthMax) return whole
  return `${whole.slice(0, descriptionLengthMax).replace(/\s+\S*$/, '')}…`
}
