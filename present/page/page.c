#include "present/page/page.h"

#include "harness/base/check.h"
#include "present/page/assets.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

/* --- texts --- */

void page_append_text(struct writing *html, const char *string)
{
    for (const char *end = strchr(string, '\n'); end != NULL; end = strchr(string, '\n')) {
        char *line = strndup(string, (size_t)(end - string));
        CHECK(line != NULL);
        writing_append_xml(html, line);
        writing_append(html, "\n");
        free(line);
        string = end + 1;
    }
    writing_append_xml(html, string);
}

/* In a script element "</script" would end it and "<!--" would change how it is read: both need the
 * character that JSON can write in another way. */
void page_append_data(struct writing *html, const char *id, const struct writing *json)
{
    writing_append_format(html, "<script type=\"application/json\" id=\"%s\">", id);
    const char *rest = writing_string(json);
    for (const char *found = strchr(rest, '<'); found != NULL; found = strchr(rest, '<')) {
        writing_append_bytes(html, rest, (size_t)(found - rest));
        writing_append(html, "\\u003c");
        rest = found + 1;
    }
    writing_append(html, rest);
    writing_append(html, "</script>\n");
}

void page_append_base64(struct writing *json, const void *bytes, size_t length)
{
    enum { PIECE_BYTES = 3 * 1024 }; /* a multiple of 3: no padding within */
    char text[BASE64_ENCODE_RAW_LENGTH(PIECE_BYTES)];
    const uint8_t *from = bytes;
    writing_append(json, "\"");
    while (length > 0) {
        const size_t piece = length < PIECE_BYTES ? length : PIECE_BYTES;
        base64_encode_raw(text, piece, from);
        writing_append_bytes(json, text, BASE64_ENCODE_RAW_LENGTH(piece));
        from += piece;
        length -= piece;
    }
    writing_append(json, "\"");
}

/* --- the document --- */

static void append_assets(struct writing *text, const struct page_asset *assets)
{
    for (; assets->name != NULL; assets++) {
        writing_append_bytes(text, assets->bytes, assets->length);
        writing_append(text, "\n");
    }
}

/* What the policy calls them: 'sha256-...' of what stands between the tags. */
static void append_hash(struct writing *html, const struct page_asset *assets)
{
    struct writing text = {0};
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char name[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1];
    append_assets(&text, assets);
    sha256_init(&context);
    sha256_update(&context, text.length, (const uint8_t *)writing_string(&text));
    sha256_digest(&context, sizeof digest, digest);
    base64_encode_raw(name, sizeof digest, digest);
    name[sizeof name - 1] = '\0';
    writing_append_format(html, "'sha256-%s'", name);
    writing_deinit(&text);
}

/* The name of a file, which a narrow bar has room for. */
static const char *cut_folders(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

void page_begin(struct writing *html, const char *title)
{
    writing_append(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                         "'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
                         "style-src ");
    append_hash(html, page_styles);
    writing_append(html, "; script-src ");
    append_hash(html, page_scripts);
    writing_append(html, "\">\n<meta name=\"viewport\" content=\"width=device-width, "
                         "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                         "<title>");
    page_print(html, "%s</title>\n<style>", cut_folders(title));
    append_assets(html, page_styles);
    page_print(html,
               "</style>\n</head>\n<body>\n<header><h1 title=\"%s\">%s</h1></header>\n<main>\n",
               title, cut_folders(title));
}

void page_end(struct writing *html)
{
    writing_append(html, "</main>\n<script>");
    append_assets(html, page_scripts);
    writing_append(html, "</script>\n</body>\n</html>\n");
}

void page_section_begin(struct writing *html, const char *id, const char *heading)
{
    page_print(html, "<section id=\"%s\">\n<h2>%s</h2>\n", id, heading);
}

void page_section_end(struct writing *html)
{
    writing_append(html, "</section>\n");
}

bool page_has_curves(void)
{
    for (const struct page_asset *asset = page_scripts; asset->name != NULL; asset++) {
        if (strcmp(asset->name, "uPlot.iife.min.js") == 0) {
            return true;
        }
    }
    return false;
}
