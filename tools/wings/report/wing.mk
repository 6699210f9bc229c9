# SPDX-License-Identifier: MIT
PAGE_STYLE := wings/report/page/style.css
PAGE_SCRIPT := $(addprefix wings/report/page/,data.js time.js rows.js colours.js draw.js \
	draw_rows.js states.js flame.js arrows.js frame.js pick.js search.js input.js main.js)
PAGE_HTML := wings/report/page/canvases.html
$(GEN)/report_page_made.h: $(PAGE_STYLE) $(PAGE_SCRIPT) $(PAGE_HTML) Makefile
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)$(call page_header,report,$(PAGE_STYLE),$(PAGE_SCRIPT),$(PAGE_HTML))
$(O)/tools/wings/report/report_page.o: $(GEN)/report_page_made.h
