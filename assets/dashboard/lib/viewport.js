/**
 * Height and scroll position of the window as of its last event: `top` can be one frame old. Reading them from the window
 * forces a layout, which takes 10 to 20 ms on a page that has just changed.
 */
export const viewport = { height: innerHeight, top: 0 };

addEventListener('resize', () => { viewport.height = innerHeight; });
addEventListener('scroll', () => { viewport.top = scrollY; }, { passive: true });

/** Scrolls to the top of the page. */
export function scrollToTop() {
  scrollTo(0, 0);
  viewport.top = 0;
}
