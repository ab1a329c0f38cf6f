/* What is wider than the page fades at its edge, and keys move it. Tables get
   a hint in words, too. */
function markWideParts() {
    const frames = document.querySelectorAll(
        ".table-wrapper, .cell_output .output.text_html, .highlight pre");
    for (const frame of frames) {
        frame.classList.remove("is-dense", "is-wide");
        if (frame.scrollWidth > frame.clientWidth + 1) {
            frame.classList.add("is-dense");
        }
        const isWide = frame.scrollWidth > frame.clientWidth + 1;
        frame.classList.toggle("is-wide", isWide);
        if (isWide && !frame.hasAttribute("tabindex")) {
            frame.tabIndex = 0;
            frame.addEventListener("scroll", () => markEnd(frame));
            if (!frame.matches("pre")) {
                frame.insertAdjacentHTML(
                    "beforebegin",
                    '<p class="wide-hint">more columns &rarr;</p>');
            }
        }
        markEnd(frame);
    }
}

function markEnd(frame) {
    const rest = frame.scrollWidth - frame.clientWidth - frame.scrollLeft;
    frame.classList.toggle("is-at-end", rest < 2);
}

// Words that fit the narrowest column stay on one line.
function markShortWords() {
    for (const word of document.querySelectorAll("code .pre")) {
        word.classList.toggle("is-short", word.textContent.length < 25);
    }
}

window.addEventListener("load", markShortWords);
window.addEventListener("load", markWideParts);
window.addEventListener("resize", markWideParts);

// A picture is opened in full, where its letters can be read on a phone.
document.addEventListener("click", (event) => {
    if (event.target.matches(".content img")) {
        window.location = event.target.src;
    }
});
